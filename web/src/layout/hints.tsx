import { lazy, Suspense, useEffect, useState } from 'react';

// Nobody needs it before they point at something.
const Hint = lazy(() => import('./hint.tsx'));

/**
 * Shows the `data-hint` of the element that a person points at, touches or moves to with the keyboard; Escape hides
 * it. One for the whole page, because a tooltip for each time in a list costs more than the list.
 */
export function Hints() {
  const [target, setTarget] = useState<HTMLElement | null>(null);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    const point = ({ target }: Event) =>
      setTarget(target instanceof Element ? target.closest<HTMLElement>('[data-hint]') : null);
    const hide = () => setTarget(null);
    document.addEventListener('mouseover', point, { signal });
    document.addEventListener('focusin', point, { signal });
    document.addEventListener('focusout', hide, { signal });
    document.documentElement.addEventListener('mouseleave', hide, { signal });
    document.addEventListener('keydown', ({ key }) => key === 'Escape' && hide(), { signal });
    return () => left.abort();
  }, []);
  return (
    target && (
      <Suspense>
        <Hint of={target} />
      </Suspense>
    )
  );
}
