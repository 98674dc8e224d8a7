"""Names that log shippers give to the message, the host, the time and the program of a record. Only data.

A name fits a field if the field's path ends with it: `message` fits `jsonPayload.message`. If several fit, the first
name in the list counts, then the field nearest to the record itself. Case is ignored, and a slash equals a dot.
"""

MESSAGE = (
    "message", "msg", "_msg", "textpayload", "log", "line", "event.original", "_raw", "body", "short_message",
    "full_message", "content", "text", "raw",
    "syslogmessage",
)  # fmt: skip
HOST = (
    "_hostname", "kubernetes.host", "kubernetes.node_name", "pod_node_name", "k8s.node.name", "host.hostname",
    "host.name", "hostname", "host", "node_name", "nodename", "node", "instance_name", "resource_name", "source_host",
    "logsource", "host_name", "computer", "machine", "fqdn", "server", "instance", "logstream", "logstreamname",
)  # fmt: skip
TIME = (
    "__realtime_timestamp", "timestamp", "@timestamp", "time", "_time", "ts", "datetime", "date", "timeunixnano",
    "time_unix_nano", "eventtime", "event_time", "event.created", "created", "timegenerated", "isodate",
    "_source_realtime_timestamp", "observedtimeunixnano", "receivetimestamp", "ingestiontime",
)  # fmt: skip
PROGRAM = (
    "syslog_identifier", "ident", "identifier", "appname", "app_name", "program", "programname", "process.name",
    "syslogtag", "processname",
)  # fmt: skip
FACILITY = ("_transport", "transport", "facility", "syslog_facility", "facility_label", "facility.name")
PROGRAM_OF_FACILITY = {
    **dict.fromkeys(("kern", "kernel", "0"), "kernel"),
    **dict.fromkeys(("user", "daemon", "auth", "authpriv", "syslog", "cron", "mail", "stdout", "journal"), "userspace"),
    **{f"local{number}": "userspace" for number in range(8)},
    **{str(number): "userspace" for number in range(1, 24)},
}
"""The program that writes lines of a facility or a transport."""
PRIORITY = ("priority", "severity", "level", "log.level", "severitytext", "severity_label", "syslog_severity")
PRIORITIES = {
    **{str(number): number for number in range(8)},
    **{"emerg": 0, "emergency": 0, "panic": 0, "alert": 1, "crit": 2, "critical": 2, "fatal": 2, "err": 3, "error": 3},
    **{"warn": 4, "warning": 4, "notice": 5, "info": 6, "informational": 6, "information": 6, "debug": 7, "trace": 7},
}
"""The priorities of syslog by name."""
WRAPPERS = ("stringvalue", "intvalue", "doublevalue", "$date", "$numberlong", "value")
"""If a field holds only one of these, its value is the value of the field."""
