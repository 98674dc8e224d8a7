-- Checks are sticky: only the result that changes what a node shows begins something, or one after a day of silence.
-- What a critical result means is in the message of some checks, and in the name of the others.
create table onsets as
with coded as (
    select *, hash(cluster_id, node_id, check_name) as stream,
        case when check_name in ('xid errors', 'check_gpu_xid', 'accelerator-nvidia-error-xid', 'syslogsxiderror')
            then nullif(regexp_extract(message, '(?:XID error|Xid \([^)]*\)): (\d+)', 1), '')::integer end as code,
        case when contains(message, 'FaultCode: NHC') then right(message, 4) end as fault_code
    from checks
), judged as (
    select *, case
        when result < 2 then null
        when code in (48, 64, 94, 95, 140, 157, 161, 171, 172) then 'gpu_memory'
        when code in (46, 54, 79, 143) then 'gpu_unavailable'
        when code in (61, 62, 110, 119, 120, 158) then 'gpu_driver_firmware'
        when code in (74, 136) then 'gpu_nvlink' when code in (80, 167, 173) then 'pcie' when code is not null then null
        when fault_code in ('2007', '2011', '2012', '2014', '2018', '2019') then 'gpu_memory'
        when fault_code in ('2008', '2009', '2013', '2015', '2017') then 'gpu_unavailable'
        when fault_code = '2016' then 'gpu_nvlink' when fault_code in ('2002', '2004') then 'ib_link'
        when fault_code = '2023' then 'block_device' when fault_code <> '2001' then null
        else case check_name
            when 'check dcgmi diag' then case
                when regexp_matches(message, '(?i)(memory|memtest|memory bandwidth|row remap) failed') then 'gpu_memory'
                when message ilike '%pcie failed%' then 'pcie' when message ilike '%nvlink failed%' then 'gpu_nvlink'
                when regexp_matches(message, '(?i)(eud|inforom|graphics processes|diagnostic|pulse test|sm stress'
                    || '|targeted stress|power|thermal) failed') then 'gpu_unavailable' end
            when 'ipmitool sel' then case
                when regexp_matches(message, '(?i)bus fatal error|pci [sp]err|bus uncorrectable') then 'pcie'
                when regexp_matches(message, '(?i)uncorrectable ecc|memory[^:]*uncorrectable') then 'main_memory'
                when regexp_matches(message, '(?i)\bierr\b|\bmcerr\b|ac lost|power supply[^:]*failure|thermal trip')
                    then 'host_hardware'
                when message ilike '%drive fault%' then 'block_device' end
            when 'check_amd_smi' then case
                when regexp_matches(message, '(?i)(clock_freq|gpu_temp) check: exit_code: .*critical') then null
                when regexp_matches(message, '(?i)uncorrectable|ecc|\bras\b') then 'gpu_memory'
                else 'gpu_unavailable' end
            when 'nvidia smi row_remap' then if(regexp_matches(message, ': \d+/[1-9]\d*/'), 'gpu_memory', null)
            when 'link flaps' then 'ib_link'
            else case
                when check_name in (
                    'nvidia smi', 'nvidia smi gpu_num', 'amd smi', 'amd smi gpu_num', 'check_nv_healthmon',
                    'check_nvsmi_healthmon', 'check_gpu_count', 'accelerator-nvidia-gpu-counts', 'syslogsgpufallenoff',
                    'gpuinforomwatch', 'gpusmwatch'
                ) then 'gpu_unavailable'
                when check_name in (
                    'nvidia smi ecc_uncorrected', 'nvidia smi row_remap_failed', 'cuda memtest', 'check_gpu_ecc',
                    'accelerator-nvidia-ecc', 'accelerator-nvidia-remapped-rows', 'gpumemwatch'
                ) then 'gpu_memory'
                when check_name in (
                    'check dcgmi nvlink error', 'check dcgmi nvlink status', 'check_nvlink_status',
                    'accelerator-nvidia-error-sxid', 'accelerator-nvidia-nvlink', 'accelerator-nvidia-fabric-manager',
                    'syslogssxiderror', 'gpunvlinkwatch', 'gpunvswitchfatalwatch'
                ) then 'gpu_nvlink'
                when check_name in (
                    'check ibstat', 'check ib interfaces', 'check iblink', 'hca count', 'check_hw_ib',
                    'accelerator-nvidia-infiniband', 'infinibandstatecheck', 'infinibanddegradationcheck'
                ) then 'ib_link'
                when check_name in ('check ethlink', 'check_hw_eth', 'ethernetstatecheck') then 'eth_link'
                when check_name in ('check pci', 'pcie aer errors', 'check_gpu_bw', 'gpupciewatch') then 'pcie'
                when check_name in ('check blockdev', 'io errors') then 'block_device'
                when check_name in (
                    'check mountpoint', 'mounted directory', 'check_fs_mount', 'check_fs_mount_rw', 'check_fs_mount_ro'
                ) then 'filesystem_mount'
                when check_name in ('check memory size', 'check_hw_physmem', 'check_hw_mem', 'check_hw_mcelog')
                    then 'main_memory'
                when check_name in ('service status', 'check_ps_service', 'check_ps_daemon') then 'system_services'
                when check_name in ('mce errors', 'check_hw_cpuinfo') then 'host_hardware'
                when check_name = 'gpudriverwatch' then 'gpu_driver_firmware' end end end as category
    from coded
), shown as (
    select *, case
        when result = 0 then 'ok' when result = 1 then 'warning'
        else coalesce(code::varchar, category, 'critical') end as symptom
    from judged
)
select * from (
    select *, lag(symptom) over results as previous_symptom, lag(observed_at) over results as previous_at
    from shown window results as (partition by stream order by observed_at)
)
where symptom <> 'ok'
    and (symptom is distinct from previous_symptom or observed_at > previous_at + interval 1 day);
