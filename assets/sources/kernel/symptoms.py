"""What a kernel message says, as SQL: its kind, and for GPU lines the code, device, process and severity.

The grammar of Xid and SXid lines is that of NVIDIA's open kernel modules, with the older form without `PCI:`.
"""

from __future__ import annotations

_INTERFACE = r"\b(ib\w*\d\w*|eth\d\w*|en[ospx]\w*\d\w*|bond\d+|mlx5_\d+)\b"
_LINK_DOWN = r"(?i)\blink (?:is )?down\b|\blost carrier\b|link status definitely down"

KINDS: tuple[tuple[str, str], ...] = (
    ("xid", r"^NVRM: Xid\b"),
    ("sxid", r"^nvidia-nvswitch\d+: SXid\b"),
    ("fell_off_bus", r"^NVRM: The NVIDIA GPU [0-9a-fA-F]+:"),
    ("oom_cgroup", r"^Memory cgroup out of memory: Kill"),
    ("oom_system", r"^Out of memory(?: \([^)]*\))?: Kill"),
    # Uncorrected but not fatal errors leave the link usable: no more than supporting evidence, like corrected ones.
    ("pcie_aer_corrected", r"(?:AER|PCIe Bus Error):.*(?:Correct(?:ed|able)|Non-Fatal)"),
    ("pcie_aer_fatal", r"(?:AER|PCIe Bus Error):.*Fatal"),
    ("edac_ue", r"^EDAC \S+: \d+ UE "),
    ("edac_ce", r"^EDAC \S+: \d+ CE "),
    ("mce", r"\[Hardware Error\]|^mce: |^CPU\d*: Machine Check"),
    ("ib_link", r"^mlx5_core .*Port module event.*(?:Cable error|unplugged|[Ee]rror)"),
    (
        "fs_mount",
        r"^nfs: server .* not responding|"
        # a client that was put out, or lost a server; other errors of Lustre are of one file or one user
        r"^Lustre(?:Error)?: .*(?:evicted by|Connection to .* was lost|operation \w+ to node \S+ failed)|"
        r"[Ww]ekafs.*(?:unmount|disconnect)",
    ),
    (
        "block_io",
        r"I/O error,? (?:on )?dev(?:ice)? (?:nvme|sd|vd|xvd|md|dm-)|"
        r"^nvme nvme\d+: (?:controller is down|.*timeout, (?:aborting|reset))",
    ),
    ("hung_task", r"blocked for more than \d+ seconds"),
    ("nccl_segfault", r"segfault at .* in libnccl"),
    ("boot", r"^Linux version \d"),
)
"""Kind by pattern of the message, first match wins; link losses are told apart by their interface."""

RELEVANT = (
    "Xid|The NVIDIA GPU|installed in this system|fallen off the bus|[Oo]ut of memory|AER:|PCIe Bus Error|EDAC|mce:|"
    "Hardware Error|Machine Check|Port module event|[Ll]ink (?:is )?[Dd]own|[Ll]ost [Cc]arrier|link status|"
    "not responding|Lustre|mmfs|[Ww]ekafs|I/O error|nvme|blocked for more than|libnccl|Linux version|"
    "setting system clock"
)
"""What any line worth unwrapping contains; one scan decides for the millions of others."""

# The network daemon and GPFS report for themselves; of everything else only the kernel is believed.
_NETWORK_DAEMONS = "systemd-networkd|NetworkManager"
_TRUSTED = {"ib_link": _NETWORK_DAEMONS, "eth_link": _NETWORK_DAEMONS, "fs_mount": "mmfsd?|mmsysmon"}

_ADDRESS = r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})"
_XID = rf"^NVRM: Xid \((?:PCI:)?{_ADDRESS}(?:\.\d+)?(?: GPU-I:(\d+))?(?: GPU-CI:(\d+))?\): *(\d+)\b(.*)$"
_SXID = rf"SXid \((?:PCI:)?{_ADDRESS}(?:\.\d+)?\): *(\d+)\b(.*)$"
_PARTS = ["domain", "bus", "device", "gpu_instance", "compute_instance", "code", "rest"]
_SXID_PARTS = ["domain", "bus", "device", "code", "rest"]


def kind_of(message: str, tag: str) -> str:
    """Return SQL for the kind of a message of the program `tag`; NULL when it is not worth reading."""
    branches = [f"when regexp_matches({message}, '{pattern}') then '{kind}'" for kind, pattern in KINDS]
    branches.append(f"when starts_with({tag}, 'mmfs') and regexp_matches({message}, '^\\[[EX]\\]') then 'fs_mount'")
    interface = f"regexp_extract({message}, '{_INTERFACE}', 1)"
    branches.append(
        f"when regexp_matches({message}, '{_LINK_DOWN}') and {interface} <> '' "
        f"then case when regexp_matches({interface}, '^(ib|mlx5_)') then 'ib_link' else 'eth_link' end"
    )
    return f"case {' '.join(branches)} end"


def is_trusted(tag: str, kind: str) -> str:
    """Return SQL that is true when the program that wrote the line may state a symptom of this kind."""
    others = " or ".join(
        f"({kind} = '{name}' and regexp_full_match({tag}, '{tags}'))" for name, tags in _TRUSTED.items()
    )
    return f"({tag} is null or {tag} = 'kernel' or {others})"


def symptoms(messages: str) -> str:
    """Return the query that adds what the text of `messages` (columns kind, message and any others) says.

    Adds code, pci_address, mig_gpu_instance, mig_compute_instance, link, process_id, process_name, is_fatal,
    recovery_action.
    """
    process = (
        "case when contains(xid.rest, ', Ch ') then regexp_extract(xid.rest, 'name=(.*?), Ch ', 1) "
        "else regexp_extract(xid.rest, 'name=([^,]*)', 1) end"
    )
    return f"""
with parts as (
    select
        *,
        regexp_extract(case when kind = 'xid' then message else '' end, '{_XID}', {_PARTS}) as xid,
        regexp_extract(case when kind = 'sxid' then message else '' end, '{_SXID}', {_SXID_PARTS}) as sxid,
        regexp_extract_all(message, '{_ADDRESS.replace("(", "(?:")}\\.\\d') as devices
    from ({messages})
)
select
    * exclude (xid, sxid, devices),
    try_cast(coalesce(nullif(xid.code, ''), nullif(sxid.code, '')) as integer) as code,
    lower(coalesce(
        nullif(right(xid.domain, 4) || ':' || xid.bus || ':' || xid.device, '::'),
        nullif(right(sxid.domain, 4) || ':' || sxid.bus || ':' || sxid.device, '::'),
        -- of `AER: ... error received: <device>` the reporter comes first and the culprit last
        case
            when kind in ('fell_off_bus', 'ib_link', 'eth_link', 'pcie_aer_fatal', 'pcie_aer_corrected', 'block_io')
                then regexp_extract(devices[-1], '([0-9a-fA-F]{{4}}:[0-9a-fA-F]{{2}}:[0-9a-fA-F]{{2}})\\.\\d$', 1)
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
