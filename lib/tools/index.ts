import { recordBackupFix, sendBackupReport, triggerBackupRun } from './action-tools.ts';
import {
  extractBackupFile,
  inspectArchiveContents,
  verifyArchiveIntegrity,
} from './archive-tools.ts';
import {
  diagnoseBackupFailure,
  getExecutionLogs,
  searchBackupKnowledge,
} from './diagnosis-tools.ts';
import { getBackupMetrics, getDashboardSummary, getSystemHealth } from './overview-tools.ts';
import { getBackupRunDetails, listBackupRuns, listTrackedRepositories } from './run-tools.ts';
import type { Tool } from './tool.ts';

export { describeTool, type ObjectSchema, type ToolDescription } from './describe-tool.ts';
export type { ToolHandles } from './handles.ts';
export { type RunToolOptions, runTool, type ToolOutcome } from './run-tool.ts';
export type { Tool, ToolAnnotations, ToolCall } from './tool.ts';

/** THE list of tools, in the order of spec 3, Tools. */
export const tools: readonly Tool[] = [
  getSystemHealth,
  getDashboardSummary,
  getBackupMetrics,
  listTrackedRepositories,
  listBackupRuns,
  getBackupRunDetails,
  getExecutionLogs,
  diagnoseBackupFailure,
  searchBackupKnowledge,
  verifyArchiveIntegrity,
  inspectArchiveContents,
  extractBackupFile,
  triggerBackupRun,
  recordBackupFix,
  sendBackupReport,
];
