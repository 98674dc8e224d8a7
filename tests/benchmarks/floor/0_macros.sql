-- What a careful analyst writes for clean clusters of one site: load, clean, expand node lists, attribute, aggregate.
-- Nothing that makes a product of it: no quarantine, no account of lines, no provenance, no second dialect, no report.
-- Expects the variables `sources`, the folder that holds one folder of logs per cluster, and `timezone`, that of the site.
-- Lines that are no record or not UTF-8 are left out.
set timezone = 'UTC';
create macro utc(moment) as timezone(getvariable('timezone'), moment)::timestamp;
create macro size_bin(gpus) as case when gpus <= 0 then 0 else pow(2, ceil(log2(gpus)))::integer end;
create macro quarter(moment) as (epoch_us(moment) // 900000000);
create macro lost(seconds, gpus) as least(seconds, 1800) / 3600 * gpus;
