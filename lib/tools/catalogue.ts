import { recordBackupFix, sendBackupReport, triggerBackupRun } from './action-tools.ts';
import {
  extractBackupFile,
  inspectArchiveContents,
  verifyArchiveIntegrity,
} from './archive-tools.ts';
import { diagnoseBackupFailure } from './diagnosis-tools.ts';
import { searchBackupKnowledge } from './knowledge-tools.ts';
import { getExecutionLogs } from './log-tools.ts';
import { getBackupMetrics, getDashboardSummary, getSystemHealth } from './overview-tools.ts';
import { getBackupRunDetails, listBackupRuns, listTrackedRepositories } from './run-tools.ts';
import type { Tool } from './tool.ts';

/** Every tool, in the order in which they are published. */
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
