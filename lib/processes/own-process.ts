/**
 * Whether this code runs in its own process. In an isolate, such as workerd's, there are no process
 * statistics, and requests cannot share connections.
 */
export function hasOwnProcess(): boolean {
  try {
    process.cpuUsage();
    return true;
  } catch {
    return false; // not implemented in isolates
  }
}
