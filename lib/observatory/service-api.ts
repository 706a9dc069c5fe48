/** Asks the service API of the same deployment for its /health. Rejects when it cannot be asked. */
export type AskServiceApi = (signal: AbortSignal) => Promise<Response>;
