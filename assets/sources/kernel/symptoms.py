"""What a kernel message of a known kind says, as SQL: code, device, process and severity.

The grammar of Xid and SXid lines is that of NVIDIA's open kernel modules, with the older form without `PCI:`.
"""

from __future__ import annotations

_ADDRESS = r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})"
_XID = rf"^NVRM: Xid \((?:PCI:)?{_ADDRESS}(?:\.\d+)?(?: GPU-I:(\d+))?(?: GPU-CI:(\d+))?\): *(\d+)\b(.*)$"
_SXID = rf"SXid \((?:PCI:)?{_ADDRESS}(?:\.\d+)?\): *(\d+)\b(.*)$"
_PARTS = ["domain", "bus", "device", "gpu_instance", "compute_instance", "code", "rest"]
_SXID_PARTS = ["domain", "bus", "device", "code", "rest"]


def symptoms(messages: str) -> str:
    """Return the query that adds what the text of `messages` (columns kind, message and any others) says.

    Adds code, pci_address, mig_gpu_instance, mig_compute_instance, link, process_id, process_name, is_fatal,
    recovery_action.
    """
    process = (
        "case when contains(xid.rest, ', Ch ') then regexp_extract(xid.rest, 'name=(.*?), Ch ', 1) "
        "else regexp_extract(xid.rest, 'name=([^,]*)', 1) end"
    )
    devices = f"regexp_extract_all(message, '\\b{_ADDRESS.replace('(', '(?:')}(?:\\.\\d)?\\b')"
    return f"""
with parts as (
    select
        *,
        regexp_extract(case when kind = 'xid' then message else '' end, '{_XID}', {_PARTS}) as xid,
        regexp_extract(case when kind = 'sxid' then message else '' end, '{_SXID}', {_SXID_PARTS}) as sxid
    from ({messages})
)
select
    * exclude (xid, sxid),
    try_cast(coalesce(nullif(xid.code, ''), nullif(sxid.code, '')) as integer) as code,
    lower(coalesce(
        nullif(right(xid.domain, 4) || ':' || xid.bus || ':' || xid.device, '::'),
        nullif(right(sxid.domain, 4) || ':' || sxid.bus || ':' || sxid.device, '::'),
        -- of `AER: ... error received: <device>` the reporter comes first and the culprit last
        -- a machine check is told in several lines, of which few name a device
        case
            when kind <> 'mce'
                then regexp_extract(
                    {devices}[-1], '([0-9a-fA-F]{{4}}:[0-9a-fA-F]{{2}}:[0-9a-fA-F]{{2}})(?:\\.\\d)?$', 1
                )
        end
    )) as pci_address,
    try_cast(nullif(xid.gpu_instance, '') as integer) as mig_gpu_instance,
    try_cast(nullif(xid.compute_instance, '') as integer) as mig_compute_instance,
    case
        when kind = 'sxid' or code between 144 and 150
            then try_cast(nullif(regexp_extract(message, '\\b[Ll]ink (\\d+)', 1), '') as integer)
    end as link,
    case
        when kind = 'xid' then try_cast(nullif(regexp_extract(xid.rest, 'pid=''?(\\d+)', 1), '') as bigint)
        when kind in ('oom_cgroup', 'oom_system')
            then try_cast(nullif(regexp_extract(message, 'process (\\d+)', 1), '') as bigint)
        when kind = 'hung_task'
            then try_cast(nullif(regexp_extract(message, 'task .*:(\\d+) blocked', 1), '') as bigint)
        when kind = 'nccl_segfault'
            then try_cast(nullif(regexp_extract(message, '\\[(\\d+)\\]: segfault', 1), '') as bigint)
    end as process_id,
    nullif(nullif(nullif(case
        when kind = 'xid' then {process}
        when kind in ('oom_cgroup', 'oom_system') then regexp_extract(message, 'process \\d+[^(]*\\(([^)]*)\\)', 1)
        when kind = 'hung_task' then regexp_extract(message, 'task (.*):\\d+ blocked', 1)
        when kind = 'nccl_segfault' then regexp_extract(message, '^(.*?)\\[\\d+\\]: segfault', 1)
    end, ''), '<unknown>'), '''<unknown>''') as process_name,
    case
        when kind = 'sxid' or code between 144 and 150 then
            case
                when regexp_matches(message, '(?i)\\bnon-?fatal\\b') then false
                when regexp_matches(message, '(?i)\\bfatal\\b') then true
            end
        when kind = 'pcie_aer_fatal' then true
        when kind = 'pcie_aer_corrected' then false
        when kind = 'mce' and regexp_matches(message, 'severity: fatal|Machine Check Exception|[Uu]ncorrected')
            then true
        when kind = 'mce' and regexp_matches(message, 'severity: corrected|Corrected error') then false
    end as is_fatal,
    case
        when code = 154 then nullif(regexp_extract(message, 'to 0x[0-9a-fA-F]+ \\(([^)]*)\\)', 1), '')
    end as recovery_action
from parts"""
