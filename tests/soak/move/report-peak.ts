// Loaded before a script of ours: says at its end how much memory the process has held at most, in KiB.

process.on('exit', () => process.stderr.write(`peak ${process.resourceUsage().maxRSS}\n`));
