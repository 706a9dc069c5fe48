import type { FetchProgress } from '../../stores/reading/fetch-archive.ts';
import { counted, formatBytes } from '../../text/units.ts';
import type { Display } from '../base/display.ts';

/** Without a terminal, the progress of larger downloads is printed every so many bytes. */
const REPORT_EVERY_BYTES = 256 * 2 ** 20;

/** Shows a download: in place on a terminal, otherwise line by line. */
export function showDownload(
  display: Display,
  name: string,
): { show(progress: FetchProgress): void; end(): void } {
  let reported = 0;
  let isFirst = true;
  return {
    show({ files, allFiles, bytes, allBytes }) {
      const amount = `${formatBytes(bytes)} of ${formatBytes(allBytes)}`;
      display.progress(files, allFiles, `${name}: downloading, ${amount}`);
      if (display.isTerminal) return;
      if (isFirst) {
        display.line(`${name}: downloading ${counted(allFiles, 'file')}, ${formatBytes(allBytes)}`);
      } else if (bytes - reported >= REPORT_EVERY_BYTES) {
        reported = bytes;
        display.line(`${name}: downloaded ${amount}`);
      }
      isFirst = false;
    },
    end: () => display.clear(),
  };
}
