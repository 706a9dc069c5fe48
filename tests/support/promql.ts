import { parser } from '@prometheus-io/lezer-promql';

/** A series of a scrape. */
export interface Series {
  metric: string;
  labels: Readonly<Record<string, string>>;
}

/** What a PromQL expression asks for. */
export interface Query {
  selectors: { metric: string; matches(series: Series): boolean }[];
  /** The labels that it groups or matches by. */
  grouping: string[];
}

const comparisons: Record<string, (value: string, wanted: string) => boolean> = {
  '=': (value, wanted) => value === wanted,
  '!=': (value, wanted) => value !== wanted,
  '=~': (value, wanted) => new RegExp(`^(?:${wanted})$`).test(value),
  '!~': (value, wanted) => !new RegExp(`^(?:${wanted})$`).test(value),
};

/** Parses PromQL with the grammar of Prometheus's own editor. Throws for invalid PromQL. */
export function parsePromql(text: string): Query {
  const query: Query = { selectors: [], grouping: [] };
  parser.parse(text).iterate({
    enter({ name, node, type, from }) {
      if (type.isError) throw new Error(`no PromQL at character ${from}: ${text}`);
      const textOf = ({ from, to }: { from: number; to: number }) => text.slice(from, to);
      if (name === 'GroupingLabels')
        query.grouping.push(...node.getChildren('LabelName').map(textOf));
      if (name !== 'VectorSelector') return;
      const identifier = node.getChild('Identifier');
      if (identifier === null) throw new Error(`a selector without a metric: ${text}`);
      const metric = textOf(identifier);
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
      const conditions = matchers.map((matcher) => {
        const [label, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((part) => {
          const found = matcher.getChild(part);
          if (found === null) throw new Error(`a matcher without its ${part}: ${text}`);
          return textOf(found);
        });
        const compare = comparisons[operator ?? ''];
        if (label === undefined || !compare) throw new Error(`no such comparison: ${text}`);
        const wanted: string = JSON.parse(value ?? '');
        // A label that the metric lacks is a mistake here, although PromQL treats it as empty.
        return ({ labels }: Series) => label in labels && compare(labels[label] ?? '', wanted);
      });
      query.selectors.push({
        metric,
        matches: (series) => series.metric === metric && conditions.every((fits) => fits(series)),
      });
    },
  });
  return query;
}
