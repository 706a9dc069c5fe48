import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads `+ <group>` and `- <group>`. Its input ends with the process that holds the other end, however that
 * ends; then it stops the groups that are left. git removes its locks and temporary files at SIGTERM.
 */
const script = `
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
[ "$groups" = ' ' ] && exit
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 2
for group in $groups; do kill -s KILL -- "-$group"; done
`;

/** One for this process, started with its first group. */
let guard: ChildProcess | null = null;

/**
 * Ends a process group if this process is killed before the returned function is called, even by SIGKILL, so
 * that nobody is left who writes to its files. Does nothing on Windows.
 */
export function guardGroup(group: number): () => void {
  if (process.platform === 'win32') return () => undefined;
  guard ??= startGuard();
  const { stdin } = guard;
  stdin?.write(`+ ${group}\n`);
  return () => stdin?.write(`- ${group}\n`);
}

function startGuard(): ChildProcess {
  const started = spawn('/bin/sh', ['-c', script], {
    // In a session of its own, which Ctrl-C does not reach.
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const forget = () => {
    if (guard === started) guard = null;
  };
  // Without a guard, or after somebody killed it, groups end with this process in all other cases.
  started.once('error', forget).once('exit', forget);
  started.stdin.on('error', forget);
  started.unref();
  // It is a socket, which would keep this process alive.
  (started.stdin as typeof started.stdin & { unref(): void }).unref();
  return started;
}
