import { open } from 'node:fs/promises';

const TITLE = '# Backups of git repositories';

/** Where the guide is: at the second path if a foreign file has the first. */
export const guidePaths = ['README.md', 'RESTORE.md'] as const;

/** Whether a path is that of a guide. */
export function isGuidePath(path: string): boolean {
  return guidePaths.some((one) => one === path);
}

/** Whether a file is the guide of this or another release. */
export async function isGuide(path: string): Promise<boolean> {
  const handle = await open(path);
  try {
    const start = Buffer.from(`${TITLE}\n`);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(start.length), 0, start.length, 0);
    return bytesRead === start.length && start.equals(buffer);
  } finally {
    await handle.close();
  }
}

/** The file in a repository that explains how to restore by hand, with nothing but common tools. */
export function formatGuide(): string {
  return `${TITLE}

Stored by Backup Observatory.

\`\`\`text
archives/NAME/states/NUMBER.json.part-…    what an archive was after a backup; the highest number is the newest
archives/NAME/objects/SHA256.part-…        a file of the archive, named by the SHA-256 of its bytes
\`\`\`

A file is kept in parts of at most 95 MiB, mostly in one. A part's name ends in its number, the number of parts, and its
size in bytes. \`cat NAME.part-*\` joins them.

If a name has \`.age\` before \`.part-\`, it is encrypted with age (https://age-encryption.org): archives then have secret names, a
state contains the real one, and an object's name ends in the SHA-256 of its encrypted bytes. Put your identity into
\`identity.txt\`.

## Restore a repository by hand

In a clone of this repository, in \`bash\`. First the name of each archive:

\`\`\`sh
get() { case $1 in *.age) cat "$1".part-* | age -d -i identity.txt ;; *) cat "$1".part-* ;; esac; }
newest() { ls "archives/$1/states" | sed 's/\\.part-[0-9]*-of-[0-9.]*$//' | sort | tail -n 1; }
ls archives | while IFS= read -r name; do
  echo "$name is $(get "archives/$name/states/$(newest "$name")" | sed -nE 's/^ "repository": "(.*)",$/\\1/p')"
done
\`\`\`

Then one of them, here \`acme__api\`. It is complete only if the last line says so:

\`\`\`sh
(
  set -euo pipefail
  name=acme__api
  get "archives/$name/states/$(newest "$name")" >state.json
  awk -F'": "' -v OFS='\\t' '
    /^  }/ {print v["name"], v["key"], v["sha256"], v["archive"]}
    {gsub(/^ +"|",?$/, ""); gsub(/\\\\"/, "\\""); v[$1] = $2}
  ' state.json >files
  while IFS=$'\\t' read -r file key sha256 bundle; do
    case /$file/ in *//* | */../*) echo "not a name of an archive: $file" && exit 1 ;; esac
    mkdir -p "$(dirname "files.d/$file")"
    get "$key" >"files.d/$file"
    echo "$sha256  files.d/$file" | sha256sum --check
    case $file in
      "$bundle") git clone --mirror "files.d/$file" restored.git ;;
      *.bundle) git -C restored.git fetch --prune "../files.d/$file" '+refs/*:refs/*' ;;
    esac
  done <files
  git -C restored.git fsck --full
  echo "restored.git has the newest version of $name"
)
\`\`\`

\`NAME.versions/N.json\` says where each branch and tag of version N pointed. What a source had overwritten or deleted is
under \`refs/kept/\`.
`;
}
