/** The media types of an answer of streamable HTTP, which the protocol has a client name both. */
const answerTypes = ['application/json', 'text/event-stream'] as const;

/**
 * Accept headers as the SDK reads them, by the names of the two types alone: where a
 * wildcard or nothing stands, which by the rules of HTTP allows both, they are written out. One that leaves a type out stays as it is.
 */
export function withBothTypes(headers: Headers): Headers {
  const accepted = headers.get('accept') || '*/*';
  if (!answerTypes.every((type) => allows(accepted, type))) return headers;
  const written = new Headers(headers);
  written.set('accept', answerTypes.join(', '));
  return written;
}

function allows(accepted: string, type: string): boolean {
  const ranges = [type, `${type.split('/')[0]}/*`, '*/*'];
  return accepted
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .some(
      ([range = '', ...parameters]) =>
        ranges.includes(range) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)),
    );
}
