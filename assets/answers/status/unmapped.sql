-- Signals that no rule knows. One row per kind.
select kind, count(*) as signal_count from marts.agg_unmapped_signals group by kind
