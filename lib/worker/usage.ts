/** A command line that asks for help, and the answer. */
export interface Help {
  name: 'help';
  text: string;
}

/** What `worker --help` prints. */
export const workerUsage = `The backup worker.

  npm run worker -- run                back up what the git host has for the login
  npm run worker -- run --source PATH|URL [--source …]   back up these repositories
  npm run worker -- embed              embed records for search

  npm run worker -- login github       log in to the git host
  npm run worker -- login gateway      log in to the model gateway
  npm run worker -- app create         make the app that people log in to
  npm run worker -- auth status        show the logins
  npm run worker -- auth token gateway print the stored key
  npm run worker -- logout github      remove a login (or: gateway, all)

Every command takes --help.`;

/** What `worker run --help` prints. */
export const runUsage = `Backs git repositories up: one archive a repository, skipped while no ref of it has changed.

  npm run worker -- run [--source PATH|URL]... [--once | --every MINUTES]

  --source PATH|URL   a repository instead of those that discovery finds: a folder, or an https://, ssh://, file:// or user@host:path
                      address; may be given several times. Credentials come from git's credential
                      helper or the ssh agent, never from the address.
  --once              one run, then exit (the default)
  --every MINUTES     a run now and every so many minutes, until Ctrl-C
  --help              this text

Archives go to BACKUP_ARCHIVE_PATH as <owner>__<repo>.bundle; \`git clone\` restores one. A folder is
backed up as local/<folder name>. With BACKUP_REPO_PATH archives are pushed there. Without --source the
repositories of the source login are backed up, found as GIT_DISCOVERY says. The database is DATABASE_URL, else that of a running \`npm start\`.

Exit codes: 0 done, or another run is active; 1 failed, or a repository failed; 2 wrong usage;
4 not logged in, or log in again.`;
