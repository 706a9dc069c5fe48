/**
 * Does this code run in a process of its own? An isolate, as workerd has them, does not: it has no figures
 * of a process, and what one of its requests has opened, such as a connection, another may not use.
 */
export function hasOwnProcess(): boolean {
  try {
    process.cpuUsage();
    return true;
  } catch {
    return false; // not implemented there
  }
}
