// Runs a command, `node scripts/launch.mjs start`, on Node.js 24. npm scripts find it in the `node` package, which
// `npm ci` installs; an older one cannot read TypeScript, so this file is plain JavaScript.
import { fileURLToPath } from 'node:url';

const { node: version } = process.versions;
if (Number.parseInt(version, 10) < 24) {
  process.stderr.write(
    `Node.js 24 or newer is needed, and this is ${version}: run \`npm ci\` without --ignore-scripts, which installs it\n`,
  );
  process.exit(1);
}

const [node, , command, ...args] = process.argv;
const entry = new URL(`./${command}.ts`, import.meta.url);
process.argv = [node, fileURLToPath(entry), ...args];
await import(entry.href);
