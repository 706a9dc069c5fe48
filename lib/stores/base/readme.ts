/** The object that explains how to restore by hand, with nothing but common tools. */
export function formatReadme(): string {
  return `Backups of git repositories, stored by Backup Observatory.

archives/NAME/states/NUMBER.json      what an archive was after a backup; the highest number is the newest
archives/NAME/objects/SHA256          a file of the archive, named by the SHA-256 of its bytes

If a name ends in .age, the object is encrypted with age (https://age-encryption.org): archives then have secret
names, a state contains the real one, and an object's name ends in the SHA-256 of its encrypted bytes.

To restore a repository by hand:

1. Download the newest state of the archive. If it is encrypted: age -d -i IDENTITY-FILE STATE.age > state.json
2. "files" in the state lists the name, the key and the SHA-256 of each file. Download each key, decrypt it
   likewise if it ends in .age, save it under its name, and check it: sha256sum "FILE"
3. git clone --mirror the file that "archive" names, then fetch every other .bundle of "files", in the order in
   which they are listed: git fetch --prune "FILE" '+refs/*:refs/*'
4. NAME.versions/N.json says where each branch and tag of version N pointed. What a source had overwritten or
   deleted is under refs/kept/.
`;
}
