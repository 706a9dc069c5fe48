/** The flags that `npm run worker` gives to Node, as in `package.json`. */
export const WORKER_FLAGS = ['--max-semi-space-size=1'];
