import '@mantine/charts/styles.css';
import { AreaChart } from '@mantine/charts';
import { Text } from '@mantine/core';
import type { Schemas } from '../api/client.ts';
import { formatDuration, formatTime } from './format.ts';

/** More points would not make the chart easier to read. */
const MAX_POINTS = 500;

/** The duration of each run, oldest first. */
export default function DurationChart({
  runs,
}: {
  runs: readonly Schemas['RunMetrics']['runs'][number][];
}) {
  const data = runs
    .filter(({ status }) => status !== 'running')
    .slice(-MAX_POINTS)
    .map(({ started_at, duration_ms }) => ({
      time: formatTime(started_at),
      Duration: duration_ms,
    }));
  if (data.length < 2) return <Text c="dimmed">The chart appears after the second run.</Text>;
  return (
    <AreaChart
      h={220}
      data={data}
      dataKey="time"
      series={[{ name: 'Duration', color: 'teal.6' }]}
      curveType="monotone"
      withDots={false}
      withXAxis={false}
      valueFormatter={formatDuration}
      yAxisProps={{ width: 80 }}
    />
  );
}
