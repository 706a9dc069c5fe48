import type { ArchiveReader } from '../archives/archives.ts';
import type { Clock } from '../clock.ts';
import type { Redactor } from '../security/redaction/redactor.ts';
import type { BackupSource } from './backup-source.ts';
import type { KnowledgeSearch } from './knowledge.ts';
import type { ReportSender } from './reports.ts';
import type { SystemFacts } from './system.ts';

/** Everything that the handlers of tools reach the world through. Built once, shared by all calls. */
export interface ToolDeps {
  backups: BackupSource;
  archives: ArchiveReader;
  /** Null without a database. */
  knowledge: KnowledgeSearch | null;
  reports: ReportSender;
  system: SystemFacts;
  clock: Clock;
  /** Every answer goes through it. */
  redactor: Redactor;
}
