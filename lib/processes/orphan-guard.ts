import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads `+ <group>` and `- <group>`. Its input ends when our process ends, for whatever reason; then it stops the
 * remaining groups. git removes its locks and temporary files on SIGTERM.
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

/** One guard for this process, started with its first group. */
let guard: ChildProcess | null = null;

/**
 * Ends a process group if this process is killed, even by SIGKILL, before the returned function is called, so that no
 * orphan keeps writing to files. Does nothing on Windows.
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
    // Its own session, which Ctrl-C does not reach.
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const forget = () => {
    if (guard === started) guard = null;
  };
  // Without a guard, for example if it was killed, groups still end with this process in all other cases.
  started.once('error', forget).once('exit', forget);
  started.stdin.on('error', forget);
  started.unref();
  // The pipe is a socket, which would keep this process alive.
  (started.stdin as typeof started.stdin & { unref(): void }).unref();
  return started;
}
