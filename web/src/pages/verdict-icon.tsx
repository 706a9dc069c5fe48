import { CheckCircledIcon, ExclamationTriangleIcon, UpdateIcon } from '@radix-ui/react-icons';
import type { Verdict } from './verdict.ts';

const icons = { good: CheckCircledIcon, bad: ExclamationTriangleIcon, unsure: UpdateIcon };

/** How the backups are, as a picture. */
export default function VerdictIcon({ state }: Pick<Verdict, 'state'>) {
  const Icon = icons[state];
  return <Icon />;
}
