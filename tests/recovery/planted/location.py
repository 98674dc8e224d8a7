"""A rack whose nodes fail more often, a switch that loses several nodes at once, and machines of neither."""

from __future__ import annotations

from dataclasses import replace

from assets.simulation.clusters.reading import read_profile
from assets.simulation.profiles import Burst, SharedFault
from tests.recovery.planted import FOUND_BY_CHANCE, Planted
from tests.truth.scorer import share

TITLE = "Where in the machine"
DAYS = 60
# Lemons and a crash loop stay, as they must not be taken for places. What strikes neighbours is planted here alone.
ORDINARY = replace(
    read_profile("demo")[0], nodes_per_rack=8, nodes_per_switch=4, shared_faults=(), maintenance=(), annotations=()
)
BAD_RACK, BAD_SWITCH = "r3", "leaf12"
RACK = tuple((node + 0.5) / ORDINARY.node_count for node in range(16, 24))
SWITCH = 44.5 / ORDINARY.node_count
FAULTY = replace(
    ORDINARY,
    bursts=(*ORDINARY.bursts, Burst(0, DAYS, "host_hardware", 0.1, RACK)),
    shared_faults=tuple(SharedFault(day, "ib_link", SWITCH, 4) for day in (8.3, 17.6, 27.2, 39.7, 48.4, 55.1)),
)
CLUSTERS = (
    *(Planted(replace(FAULTY, cluster_id=f"location-{seed}"), DAYS, seed=seed) for seed in (1, 2, 3)),
    *(Planted(replace(ORDINARY, cluster_id=f"location-none-{seed}"), DAYS, seed=seed) for seed in (4, 5, 6, 7, 8)),
)
RELATIONS = f"""
    create table judged.places as
    with nodes as (
        select
            string_split(filename, '/')[-2] as cluster_id,
            faults_per_1000_node_days as rate,
            {{'rack': rack, 'switch': switch, 'position': position}} as places
        from read_parquet(getvariable('truth') || '/location-*/nodes.parquet', filename = true)
    ),

    truth as (
        select cluster_id, place_kind, place, avg(rate) as true_rate
        from (unpivot (select cluster_id, rate, unnest(places) from nodes) on rack, switch, position
            into name place_kind value place)
        group by all
    )

    select
        found.*,
        true_rate,
        verdict in ('fails more', 'both') as is_more,
        verdict in ('fails together', 'both') as is_together,
        cluster_id like 'location-none-%' as is_ordinary,
        place_kind = 'rack' and place = '{BAD_RACK}' as is_bad_rack,
        place_kind = 'switch' and place = '{BAD_SWITCH}' as is_bad_switch,
        -- What is bad of one kind is bad of the other, too: half a bad rack is a switch of bad nodes.
        place_kind = 'switch' and place in ('leaf5', 'leaf6') or place_kind = 'rack' and place = 'r6' as is_of_bad
    from published.estimates.est_location_rates as found
    left join truth using (cluster_id, place_kind, place)
    where cluster_id like 'location-%' and place is not null;
    create table judged.ordinary as
    select cluster_id, bool_or(is_more or is_together) as is_found from judged.places where is_ordinary group by all
"""
CLAIMS = (
    share("bad racks called so, and bad switches", "places", "if(is_bad_rack, is_more, is_together)",
          "not is_ordinary and (is_bad_rack or is_bad_switch)", recall=0.8),
    share("places called bad that are", "places", "is_bad_rack or is_bad_switch or is_of_bad",
          "not is_ordinary and (is_more or is_together)", recall=0.9),
    share("racks whose limits hold the planted rate", "places",
          "true_rate between failures_per_1000_node_days_low and failures_per_1000_node_days_high",
          "place_kind = 'rack' and true_rate is not null", recall=0.8),
    share("clusters with nothing planted that have a bad place", "ordinary", "is_found", at_most=FOUND_BY_CHANCE),
)  # fmt: skip
