import type { Endpoint } from '../platform/http/route.ts';
import { authEndpoints } from './auth.ts';
import type { ObservatoryHandles } from './handles.ts';

/** Every endpoint of the observatory: this is where a new list is joined. Exact paths come first. */
export const observatoryEndpoints: readonly Endpoint<ObservatoryHandles>[] = [...authEndpoints];
