import { Tooltip } from '@mantine/core';

/** Shows the `data-hint` of an element beside it. */
export default function Hint({ of }: { of: HTMLElement }) {
  return <Tooltip key={of.dataset.hint} target={of} opened label={of.dataset.hint} />;
}
