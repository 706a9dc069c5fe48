import '@mantine/charts/styles.css';
import { AreaChart } from '@mantine/charts';
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { archiveSizes } from '../api/queries.ts';
import { formatBytes, formatTime } from './format.ts';
import { Loaded } from './loading.tsx';

/** The total size of all archives after each run. */
export default function SizeChart() {
  return (
    <Loaded query={useQuery(archiveSizes)} lines={5}>
      {({ data }) => (
        <SizesOverTime
          points={data.map((snapshot) => ({
            at: snapshot.captured_at,
            bytes: snapshot.total_archive_size_bytes,
          }))}
        />
      )}
    </Loaded>
  );
}

/** An area chart of sizes, given newest first. */
export function SizesOverTime({ points }: { points: readonly { at: string; bytes: number }[] }) {
  if (points.length < 2) return <Text c="dimmed">The chart appears after the second run.</Text>;
  return (
    <AreaChart
      h={220}
      data={points.toReversed().map(({ at, bytes }) => ({ time: formatTime(at), Size: bytes }))}
      dataKey="time"
      series={[{ name: 'Size', color: 'blue.6' }]}
      curveType="monotone"
      withDots={false}
      withXAxis={false}
      valueFormatter={formatBytes}
      yAxisProps={{ width: 80 }}
    />
  );
}
