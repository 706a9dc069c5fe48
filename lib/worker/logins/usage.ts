const storeHelp = `  --store auto|file   auto (the default) keeps the login in the keychain, or says that it had to take
                      the file; file keeps it in credentials.json, which a scheduled run can read`;

/** What `worker login --help` prints. */
export const loginUsage = `Logs in to the git host or to the model gateway.

  npm run worker -- login github [--profile source|destination] [--client-id ID] [--import-token]
                                 [--store auto|file]
  npm run worker -- login gateway [--paste] [--store auto|file]

github shows an address and a code, valid for 15 minutes, and waits until you have entered it there.

  --profile source|destination
                      source (the default) reads what is backed up; destination pushes archives to an
                      https:// BACKUP_REPO_PATH
  --client-id ID      the app to log in to; else GIT_APP_CLIENT_ID, else that of \`app create\`
  --import-token      takes the token of the host's own command line, gh; without gh it asks for one,
                      or reads one line from stdin

gateway opens a page on which you allow a key.

  --paste             for a browser on another machine: paste the address that it ends at

${storeHelp}
  --help              this text

Exit codes: 0 logged in; 1 failed; 2 wrong usage, or no client id; 4 not allowed, or too late.`;

/** What `worker logout --help` prints. */
export const logoutUsage = `Removes a login from this machine. Its token is not revoked: do that on the service's pages.

  npm run worker -- logout github [--profile source|destination]
  npm run worker -- logout gateway
  npm run worker -- logout all           every login, and app.json

  --profile source|destination   which login of github; default source
  --help                         this text

Exit codes: 0 removed, or there was none; 1 failed; 2 wrong usage.`;

/** What `worker auth --help` prints. */
export const authUsage = `Shows logins, never a secret, or prints the gateway's key.

  npm run worker -- auth status [--check] [--json]
  npm run worker -- auth token gateway

  --check   exit code 4 unless a login or token for the git host is configured and has not expired,
            1 when it cannot be read
  --json    for programs
  --help    this text

Exit codes: 0 done; 1 the logins cannot be read; 2 wrong usage; 4 not logged in.`;

/** What `worker app --help` prints. */
export const appUsage = `Makes the app on the git host that people log in to: it reads contents and metadata, nothing else.

  npm run worker -- app create [--name N] [--org ORG] [--force]

  --name N    its name, unique on the host, at most 34 characters; default Backup Observatory and
              a random part
  --org ORG   the organization that owns it; default you
  --force     replace the app.json that is there
  --help      this text

Opens a page of this machine that sends you to the host with everything filled in, and keeps what the
host answers in app.json. Exit codes: 0 made; 1 failed; 2 wrong usage; 4 not made within 15 minutes.`;
