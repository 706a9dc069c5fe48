import { Box, Skeleton } from '@mantine/core';
import { useInViewport } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';

interface InViewProps {
  /** The height of the placeholder, in pixels. */
  height: number;
  children: ReactNode;
}

/** Renders its children once the user has scrolled to them. */
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
