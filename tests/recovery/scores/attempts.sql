-- Attempts, and the nodes each of them held.
select
    'attempts' as item,
    (select count(*) from found.attempts) as published,
    (select count(*) from truth.attempts) as planted,
    (
        select count(*)
        from truth.attempts
        inner join found.attempts using (attempt_id)
        where truth.attempts.state = found.attempts.state
    ) as recovered
union all
select
    'nodes of attempts',
    (select count(*) from found.attempt_nodes),
    (select sum(len(nodes)) from truth.attempts),
    (
        select count(*)
        from (select attempt_id, unnest(nodes) as node_id from truth.attempts)
        inner join found.attempt_nodes using (attempt_id, node_id)
    )
