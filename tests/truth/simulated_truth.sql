-- The planted truth of a simulated cluster under the keys of the published warehouse; `truth` is the folder of its files.
-- What the export of the accounting holds, in the state in which it found it: nobody can know of the rest.
create table truth.attempts as
select
    * exclude (is_exported, exported_state) replace (exported_state as state),
    getvariable('cluster_id') || ':' || job_id_raw || ':' || submitted_epoch as attempt_id
from read_parquet(getvariable('truth') || '/attempts.parquet')
where is_exported;

create table truth.failures as
select
    failures.*,
    attempts.attempt_id
from read_parquet(getvariable('truth') || '/failures.parquet') as failures
inner join truth.attempts as attempts using (job_id_raw, submitted_epoch)
where attempts.state not in ('RUNNING', 'PENDING');

create table truth.preemptions as
select
    preemptions.*,
    attempts.attempt_id,
    getvariable('cluster_id') || ':' || preemptions.instigator_job_id_raw || ':'
    || preemptions.instigator_submitted_epoch as instigator_attempt_id
from read_parquet(getvariable('truth') || '/preemptions.parquet') as preemptions
inner join truth.attempts as attempts using (job_id_raw, submitted_epoch)
where attempts.state not in ('RUNNING', 'PENDING');

create table truth.populations as from read_parquet(getvariable('truth') || '/populations.parquet');
create table truth.rate_changes as from read_parquet(getvariable('truth') || '/rate_changes.parquet');

create table truth.faults as from read_parquet(getvariable('truth') || '/faults.parquet');

-- One event may break several nodes of one job within a minute. The one that ended it is a matter of seconds, and a
-- reader who names another of them, by what that one shows, is not wrong.
create table truth.broken_beside as
select
    failures.attempt_id,
    faults.node,
    list_append(faults.co_occurring, faults.category) as categories
from truth.failures as failures
inner join truth.attempts as attempts using (attempt_id)
inner join truth.faults as faults
    on
        failures.incident_number = faults.incident_number
        and failures.fault_number != faults.fault_number
        and list_contains(attempts.nodes, faults.node)
        and faults.fault_epoch <= failures.failed_epoch
where faults.is_shared and faults.has_evidence;

-- The simulation has a row for each state and reason. A node that is out is one outage until it is back for a minute;
-- planned work and faults stay apart.
create table truth.outages as
with intervals as (
    select *, coalesce(ended_epoch, 'infinity'::double) as until_epoch
    from read_parquet(getvariable('truth') || '/outages.parquet')
),
numbered as (
    select
        intervals.*,
        count(*) filter (started_epoch > latest_until_epoch + 60) over (
            partition by node, is_planned order by started_epoch, until_epoch
        ) as outage_number
    from (
        select
            *,
            max(until_epoch) over (
                partition by node, is_planned order by started_epoch, until_epoch
                rows between unbounded preceding and 1 preceding
            ) as latest_until_epoch
        from intervals
    ) as intervals
)
select
    node, is_planned,
    min(started_epoch) as started_epoch,
    nullif(max(until_epoch), 'infinity'::double)::bigint as ended_epoch
from numbered
group by node, is_planned, outage_number;
create table truth.nodes as from read_parquet(getvariable('truth') || '/nodes.parquet');
