import { CheckCircledIcon, ExclamationTriangleIcon, UpdateIcon } from '@radix-ui/react-icons';
import type { Verdict } from './verdict.ts';

const icons = { good: CheckCircledIcon, bad: ExclamationTriangleIcon, unsure: UpdateIcon };

/** The state of the backups as an icon. */
export default function VerdictIcon({ state }: Pick<Verdict, 'state'>) {
  const Icon = icons[state];
  return <Icon />;
}
