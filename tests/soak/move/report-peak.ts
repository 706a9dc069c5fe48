// Loaded before one of our scripts: reports at its end the peak memory of the process, in KiB.

process.on('exit', () => process.stderr.write(`peak ${process.resourceUsage().maxRSS}\n`));
