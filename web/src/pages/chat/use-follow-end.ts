import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

/** A page within this distance of its end counts as being there. */
const NEAR_PX = 160;

/** Keeps the end of the page in view while `content` grows, unless the reader has scrolled away from it. */
export function useFollowEnd(content: unknown): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null);
  const isNear = useRef(true);
  useEffect(() => {
    const look = () => {
      const { scrollHeight } = document.documentElement;
      isNear.current = window.innerHeight + window.scrollY >= scrollHeight - NEAR_PX;
    };
    window.addEventListener('scroll', look, { passive: true });
    return () => window.removeEventListener('scroll', look);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs whenever the content grows.
  useLayoutEffect(() => {
    if (isNear.current) end.current?.scrollIntoView({ block: 'end' });
  }, [content]);
  return end;
}
