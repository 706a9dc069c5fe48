// The tables, by what they are for. Functions and triggers are in functions/, and the migrations make all of it.

export * from './schema/alert-channels.ts';
export * from './schema/alerts.ts';
export * from './schema/archives.ts';
export * from './schema/backups.ts';
export * from './schema/badges.ts';
export * from './schema/fleet.ts';
export * from './schema/forgotten.ts';
export * from './schema/objectives.ts';
export * from './schema/observatory.ts';
export * from './schema/restores.ts';
export * from './schema/schedules.ts';
export * from './schema/search.ts';
export * from './schema/sources.ts';
export * from './schema/statements.ts';
export * from './schema/status-pages.ts';
export * from './schema/summaries.ts';
export * from './schema/telling.ts';
export * from './schema/users.ts';
