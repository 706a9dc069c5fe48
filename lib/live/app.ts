import type { Hono } from 'hono';
import type { LiveConfig } from '../platform/config/live.ts';
import type { Deps } from '../platform/deps.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { createSurface, type SurfaceOptions } from '../platform/http/surface.ts';

/** The live feed of specification 1, Events. */
export function createLiveApp(deps: Deps<LiveConfig>, options: SurfaceOptions = {}): Hono<HttpEnv> {
  return createSurface(deps, options);
}
