import { healthTool, readTool, reportTool, searchTool, triggerTool } from './mcp-surfaces.ts';
import {
  chat,
  confirmable,
  confirmation,
  connectKey,
  login,
  models,
  observatoryReady,
  processBatch,
  report,
  rerank,
  runningChat,
  search,
  sessions,
} from './observatory-surfaces.ts';
import {
  health,
  openSocket,
  openStream,
  ready,
  runningSocket,
  runningStream,
  serviceApi,
} from './service-surfaces.ts';
import type { Surface } from './surface.ts';

/** Everything that a server is used for, by the names of the table. */
export const serverSurfaces = {
  health,
  ready,
  observatoryReady,
  serviceApi,
  openStream,
  openSocket,
  runningStream,
  runningSocket,
  login,
  sessions,
  search,
  rerank,
  models,
  processBatch,
  connectKey,
  chat,
  runningChat,
  confirmable,
  confirmation,
  report,
  readTool,
  healthTool,
  searchTool,
  triggerTool,
  reportTool,
} as const satisfies Record<string, Surface>;

export type ServerSurface = keyof typeof serverSurfaces;
