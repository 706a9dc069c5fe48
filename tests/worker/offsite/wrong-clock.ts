// Imported by a worker to put its clock CLOCK_AHEAD_MINUTES ahead, or back if that is negative.

const AHEAD_MS = Number(process.env.CLOCK_AHEAD_MINUTES) * 60_000;
const RealDate = Date;

globalThis.Date = class extends RealDate {
  constructor(...args: unknown[]) {
    if (args.length === 0) super(RealDate.now() + AHEAD_MS);
    else super(...(args as [number]));
  }

  static override now(): number {
    return RealDate.now() + AHEAD_MS;
  }
} as DateConstructor;
