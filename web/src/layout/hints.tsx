import { lazy, Suspense, useEffect, useState } from 'react';

// Not needed before a user points at something.
const Hint = lazy(() => import('./hint.tsx'));

/**
 * Shows the `data-hint` of the element that the user points at, touches or focuses with the keyboard; Escape hides it.
 * The page has only one, because a tooltip for each time in a list costs more than the list.
 */
export function Hints() {
  const [target, setTarget] = useState<HTMLElement | null>(null);
  useEffect(() => {
    const listening = new AbortController();
    const { signal } = listening;
    const point = ({ target }: Event) =>
      setTarget(target instanceof Element ? target.closest<HTMLElement>('[data-hint]') : null);
    const hide = () => setTarget(null);
    document.addEventListener('mouseover', point, { signal });
    document.addEventListener('focusin', point, { signal });
    document.addEventListener('focusout', hide, { signal });
    document.documentElement.addEventListener('mouseleave', hide, { signal });
    document.addEventListener('keydown', ({ key }) => key === 'Escape' && hide(), { signal });
    return () => listening.abort();
  }, []);
  return (
    target && (
      <Suspense>
        <Hint of={target} />
      </Suspense>
    )
  );
}
