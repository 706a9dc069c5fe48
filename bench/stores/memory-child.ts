import { type LocalFile, openEncryptedFiles } from './encrypted-file.ts';

// Uploads and downloads a file, and prints the process's peak memory in bytes.

const [address = '', folder = '', path = '', sha256 = '', size] = process.argv.slice(2);
const files = await openEncryptedFiles(address, folder);
const file: LocalFile = { path, sha256, sizeBytes: Number(size) };
await files.receive(await files.send(file, 'memory'));
process.stdout.write(`${process.resourceUsage().maxRSS * 1_024}`);
