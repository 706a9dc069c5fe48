import type { Hono } from 'hono';
import type { ObservatoryConfig } from '../platform/config/observatory.ts';
import type { Deps } from '../platform/deps.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { createSurface, type SurfaceOptions } from '../platform/http/surface.ts';

/** The observatory of specification 2. */
export function createObservatoryApp(
  deps: Deps<ObservatoryConfig>,
  options: SurfaceOptions = {},
): Hono<HttpEnv> {
  return createSurface(deps, options);
}
