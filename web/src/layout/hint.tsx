import { Tooltip } from '@mantine/core';

/** What an element says in `data-hint`, beside it. */
export default function Hint({ of }: { of: HTMLElement }) {
  return <Tooltip key={of.dataset.hint} target={of} opened label={of.dataset.hint} />;
}
