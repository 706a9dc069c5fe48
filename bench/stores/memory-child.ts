import { type LocalFile, openEncryptedFiles } from './encrypted-file.ts';

// Sends a file to a store and gets it back, and prints how much memory the process took at most, in bytes.

const [address = '', folder = '', path = '', sha256 = '', size] = process.argv.slice(2);
const files = await openEncryptedFiles(address, folder);
const file: LocalFile = { path, sha256, sizeBytes: Number(size) };
await files.receive(await files.send(file, 'memory'));
process.stdout.write(`${process.resourceUsage().maxRSS * 1_024}`);
