-- Checks are sticky: only the result that changes what a node shows begins something.
create table onsets as
with shown as (
    select
        cluster_id, node_id, check_name, hash(cluster_id, node_id, check_name) as stream, observed_at, result, case
            when result = 0 then 'ok'
            when check_name = 'xid errors' then 'xid ' || regexp_extract(message, 'XID error: (\d+)', 1)
            when check_name = 'ipmitool sel' and regexp_matches(message, 'Bus Fatal|PCI [SP]ERR') then 'pcie'
            when check_name = 'ipmitool sel' and contains(message, 'Uncorrectable ECC') then 'main_memory'
            when check_name = 'ipmitool sel'
                and regexp_matches(message, 'IERR|AC lost|Thermal Trip') then 'host_hardware'
            when result = 2 then check_name else 'warning' end as symptom
    from checks
)
select *, case
    when result = 2 then case symptom
    when 'check blockdev' then 'block_device' when 'check dcgmi nvlink status' then 'gpu_nvlink'
    when 'check ethlink' then 'eth_link' when 'check ibstat' then 'ib_link' when 'link flaps' then 'ib_link'
    when 'check pci' then 'pcie' when 'mounted directory' then 'filesystem_mount'
            when 'mce errors' then 'host_hardware'
        when 'nvidia smi ecc_uncorrected' then 'gpu_memory' when 'nvidia smi gpu_num' then 'gpu_unavailable'
        when 'service status' then 'system_services' when 'pcie' then 'pcie' when 'main_memory' then 'main_memory'
        when 'host_hardware' then 'host_hardware' when 'xid 48' then 'gpu_memory' when 'xid 95' then 'gpu_memory'
        when 'xid 94' then 'gpu_memory' when 'xid 74' then 'gpu_nvlink' when 'xid 79' then 'gpu_unavailable'
        when 'xid 62' then 'gpu_driver_firmware' when 'xid 119' then 'gpu_driver_firmware' end end as category
from (
    select *, lag(symptom) over results as previous_symptom, lag(observed_at) over results as previous_at
    from shown window results as (partition by stream order by observed_at)
)
where symptom <> 'ok' and symptom is distinct from previous_symptom;
