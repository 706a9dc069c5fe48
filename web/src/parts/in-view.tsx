import { Box, Skeleton } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';

interface InViewProps {
  /** What it takes in the page meanwhile, in pixels. */
  height: number;
  children: ReactNode;
}

/** Draws what is in it once a person has scrolled to it. */
export function InView({ height, children }: InViewProps) {
  const { ref, inViewport } = useInViewport();
  const [wasSeen, setSeen] = useState(false);
  if (inViewport && !wasSeen) setSeen(true);
  return (
    <Box ref={ref} mih={height}>
      {wasSeen ? children : <Skeleton height={height} />}
    </Box>
  );
}
