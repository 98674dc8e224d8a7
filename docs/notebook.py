"""Seven questions to a home of Faultline, as a marimo notebook: docs/questions.md says how to open it.

Each answer is one SELECT over published tables. It shows NULL, and numbers for which Faultline reports too little data,
as unknown and never as zero.
"""

import marimo

app = marimo.App(width="medium", app_title="Faultline")

with app.setup:
    import os
    from pathlib import Path

    import altair as alt
    import duckdb
    import marimo as mo

    BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#767676"
    VERDICTS = alt.Scale(domain=["lemon", "watch", "ok"], range=[ORANGE, "#E69F00", BLUE])

    def in_utc(times):
        """Mark times as UTC, or the browser would take them for its own zone's."""
        return times.astype("datetime64[us]").dt.tz_localize("UTC")

    def answer(question, frame, chart, note=""):
        """Show a question with its chart and its rows; a script prints the rows."""
        rounded = frame.assign(**frame.select_dtypes("float").map(lambda number: float(f"{number:.4g}")))
        rows = rounded.astype(object).where(frame.notna(), "unknown")
        if mo.app_meta().mode == "script":
            chart.to_dict()  # a chart that could not be drawn fails
            print(f"\n{question}\n{note}\n{rows.astype(str).to_string(index=False)}")
        words = [name for name in ("why", "note") if name in rows]
        table = mo.ui.table(rows, selection=None, wrapped_columns=words, show_column_summaries=False)
        return mo.vstack([mo.md(f"## {question}\n\n{note}"), chart, table])

    def intervals(frame, row, value, title, log=False, verdict=None):
        """Draw numbers with their limits: a triangle where only one limit is known, a word where nothing is."""
        low, high = f"datum.{value}_low", f"datum.{value}_high"
        base = alt.Chart(frame, width=560).encode(y=alt.Y(f"{row}:N", sort=None, title=None))
        axis = alt.X(f"{value}:Q", title=title, scale=alt.Scale(type="log" if log else "linear"))
        colour = alt.Color(verdict, scale=VERDICTS) if verdict else alt.value(BLUE)
        shape = alt.Shape(verdict, scale=alt.Scale(domain=VERDICTS.domain)) if verdict else alt.value("circle")
        is_unknown = base.transform_filter(f"datum.{value} === null")
        at_least = is_unknown.transform_filter(f"{low} > 0 && {high} === null")
        at_most = is_unknown.transform_filter(f"{high} !== null")
        nothing = is_unknown.transform_filter(f"!({low} > 0) && {high} === null")
        return alt.layer(
            base.mark_rule(color=GREY).encode(x=alt.X(f"{value}_low:Q"), x2=f"{value}_high:Q"),
            base.mark_point(filled=True, size=80, opacity=1).encode(x=axis, color=colour, shape=shape),
            at_least.mark_point(shape="triangle-right", color=ORANGE, size=80).encode(x=f"{value}_low:Q"),
            at_most.mark_point(shape="triangle-left", color=ORANGE, size=80).encode(x=f"{value}_high:Q"),
            nothing.mark_text(text="unknown", align="left", color=GREY).encode(x=alt.value(4)),
        )


@app.cell
def _():
    arguments = mo.cli_args()
    home = Path(str(arguments.get("home") or os.environ.get("FAULTLINE_HOME") or "data"))
    newest = mo.ui.button(value=0, on_click=lambda count: count + 1, label="Read the newest publication")
    return arguments, home, newest


@app.cell
def _(home, newest):
    # The link is followed once, so that all answers are of one publication; the button follows it again.
    newest.value
    published = (home / "warehouse" / "faultline.duckdb").resolve()
    con = duckdb.connect(str(published), read_only=True)
    _ = con.execute("set search_path = 'marts,estimates,ops'")
    return (con,)


@app.cell
def _(arguments, con):
    clusters = con.execute("""
        select
            cluster_id, is_simulated, node_count, gpu_count, study_from_at, data_through_at, is_stale,
            (select max(published_at) from published) as published_at
        from dim_clusters
        order by is_simulated, cluster_id
    """).df()
    names = clusters.cluster_id.to_list()
    ((largest,),) = con.execute("""
        select cluster_id
        from dim_clusters
        order by cluster_id in (select cluster_id from est_failure_rates where has_enough_data) desc,
            node_count desc nulls last, is_simulated, cluster_id
        limit 1
    """).fetchall()
    asked = str(arguments.get("cluster") or largest)
    chosen = mo.ui.dropdown(names, asked, label="Cluster")
    return chosen, clusters


@app.cell
def _(chosen, clusters, con, newest):
    cluster = chosen.value

    def ask(statement, **values):
        """Read rows; the statement names the cluster as $cluster."""
        return con.execute(statement, {"cluster": cluster, **values}).df()

    is_simulated = bool(clusters.set_index("cluster_id").is_simulated[cluster])
    subject = f"{cluster} (simulated)" if is_simulated else cluster
    _times = ["study_from_at", "data_through_at"]
    _chart = (
        alt.Chart(clusters.assign(**clusters[_times].apply(in_utc)), width=560)
        .mark_bar(height=8, color=BLUE)
        .encode(
            x=alt.X("study_from_at:T", scale=alt.Scale(type="utc"), title="study period (UTC)"),
            x2="data_through_at:T",
            y=alt.Y("cluster_id:N", title=None),
        )
    )
    mo.vstack([mo.hstack([chosen, newest], justify="start"), answer("What is published?", clusters, _chart)])
    return ask, subject


@app.cell
def _(ask, subject):
    causes = ask("""
        select
            label as cause, round(failure_count, 1) as failures,
            if(has_enough_data, 1e6 * failures_per_gpu_hour, null) as rate,
            if(has_enough_data, 1e6 * failures_per_gpu_hour_low, null) as rate_low,
            if(has_enough_data, 1e6 * failures_per_gpu_hour_high, null) as rate_high, coalesce(note, '') as note
        from est_cause_rates inner join dim_failure_categories using (failure_category)
        where cluster_id = $cluster and counted_as = 'attempts'
        order by failures desc nulls last, cause
    """)
    answer(
        f"Which failures strike {subject}?",
        causes,
        intervals(causes, "cause", "rate", "failures per million GPU-hours"),
        "Each failure counts by the probability that infrastructure caused it. A triangle is an upper limit: the cause "
        "was never seen. Unknown: no log could have shown it.",
    )
    return (causes,)


@app.cell
def _(ask, subject):
    mttf = ask("""
        select
            if(gpu_size_bin = 1, '1 GPU', gpu_size_bin || ' GPUs') as size, attempt_count as attempts,
            round(failure_count, 1) as failures,
            if(has_enough_data, mttf_hours, null) as hours, if(has_enough_data, mttf_hours_low, null) as hours_low,
            if(has_enough_data, mttf_hours_high, null) as hours_high, coalesce(note, '') as note
        from est_mttf_by_size
        where cluster_id = $cluster
        order by gpu_size_bin
    """)
    answer(
        f"How long do jobs of each size run on {subject} before infrastructure fails them?",
        mttf,
        intervals(mttf, "size", "hours", "mean time to failure, hours", log=True),
        "Sizes are powers of two: 16 GPUs stand for 9 to 16. A triangle is a lower limit: no failure was seen.",
    )
    return (mttf,)


@app.cell
def _(ask, subject):
    lemons = ask("""
        select
            node_id as node, verdict, if(has_enough_data, rate, null) as rate,
            if(has_enough_data, rate_low, null) as rate_low, if(has_enough_data, rate_high, null) as rate_high,
            coalesce(reasons, note, '') as why
        from est_lemon_nodes
        where cluster_id = $cluster
        order by rank nulls last, node_id
        limit 12
    """)
    answer(
        f"Which nodes of {subject} fail more than chance would have it, and why?",
        lemons,
        intervals(lemons, "node", "rate", "failures per 1,000 node-days", verdict="verdict"),
        "The twelve nodes of highest rank. Only the verdict lemon asks for a repair.",
    )
    return (lemons,)


@app.cell
def _(arguments):
    asked_gpus = int(arguments.get("gpus") or 1024)
    sizes = sorted({*(2**power for power in range(3, 18)), asked_gpus})
    gpus = mo.ui.slider(steps=sizes, value=asked_gpus, label="GPUs of the run", show_value=True, debounce=True)
    days = mo.ui.slider(1, 90, value=30, label="Days on its nodes", show_value=True, debounce=True)
    mo.hstack([gpus, days], justify="start")
    return days, gpus, sizes


@app.cell
def _(ask, days, gpus, sizes, subject):
    # failures = nodes x days x rate, as in est_mttf_projections; a high rate is a low time to failure
    runs = ask(
        """
        select
            gpus, cast(ceil(gpus / gpus_per_node) as bigint) as nodes,
            24000 / (nodes * nullif(if(has_enough_data, failures_per_1000_node_days, null), 0)) as hours,
            24000 / (nodes * nullif(if(has_enough_data, failures_per_1000_node_days_high, null), 0)) as hours_low,
            24000 / (nodes * nullif(if(has_enough_data, failures_per_1000_node_days_low, null), 0)) as hours_high,
            $days * 24 / hours as interruptions, exp(-interruptions) as chance_of_none
        from dim_clusters
        left join est_failure_rates using (cluster_id)
        cross join unnest($sizes) as asked (gpus)
        where cluster_id = $cluster and coalesce(is_reference, true)
        order by gpus
        """,
        days=days.value,
        sizes=sizes,
    )
    run = runs[runs.gpus == gpus.value]
    _base = alt.Chart(runs, width=560).encode(x=alt.X("gpus:Q", scale=alt.Scale(type="log"), title="GPUs of the run"))
    _title = "mean time to failure, hours"
    _chart = alt.layer(
        _base.mark_area(opacity=0.25, color=BLUE).encode(y=alt.Y("hours_low:Q", title=_title), y2="hours_high:Q"),
        _base.mark_line(color=BLUE).encode(y=alt.Y("hours:Q", scale=alt.Scale(type="log"), title=_title)),
        alt.Chart(run).mark_rule(color=ORANGE, strokeDash=[4, 4]).encode(x="gpus:Q"),
    )
    answer(
        f"What does a run of {gpus.value:,} GPUs on {subject} meet in {days.value} days?",
        run,
        _chart,
        "Limits are those of the cluster's rate. `faultline plan` adds checkpoints, restarts and spare nodes.",
    )
    return run, runs


@app.cell
def _(ask, subject):
    lost = ask("""
        select
            coalesce(label, loss) as loss, round(expected_failure_count, 1) as failures,
            if(has_enough_data, expected_lost_gpu_hours, null) as gpu_hours,
            if(has_enough_data, expected_lost_gpu_hours_low, null) as gpu_hours_low,
            if(has_enough_data, expected_lost_gpu_hours_high, null) as gpu_hours_high, coalesce(note, '') as note
        from est_lost_gpu_hours left join dim_failure_categories on loss = failure_category
        where cluster_id = $cluster and period = 'study'
        order by est_lost_gpu_hours.loss <> 'all', gpu_hours desc nulls last, est_lost_gpu_hours.loss
    """)
    answer(
        f"How many GPU-hours were lost on {subject}, and to what?",
        lost,
        intervals(lost, "loss", "gpu_hours", "GPU-hours lost in the study period"),
        "Preemption is what restarts after failures took from other jobs.",
    )
    return (lost,)


@app.cell
def _(ask, subject):
    logs = ask("""
        select
            kind, count(*) as files, cast(sum(lines_in) as bigint) as lines, cast(sum(loaded) as bigint) as understood,
            cast(sum(skipped) as bigint) as of_no_use, cast(sum(quarantined) as bigint) as not_understood,
            count(*) filter (where status <> 'read') as files_with_a_problem,
            min(first_at) as first_at, max(last_at) as last_at
        from files
        where cluster_id = $cluster and version_of is null
        group by kind
        order by kind
    """)
    covered = ask("""
        select kind, from_at, to_at, 'covered' as state from spans where cluster_id = $cluster
        union all
        select 'sacct', from_at, to_at, 'gap' from dim_study_gaps where cluster_id = $cluster
        order by all
    """)
    covered[["from_at", "to_at"]] = covered[["from_at", "to_at"]].apply(in_utc)
    _states = alt.Scale(domain=["covered", "gap"], range=[BLUE, ORANGE])
    _chart = (
        alt.Chart(covered, width=560)
        .mark_bar(height=alt.expr("datum.state == 'gap' ? 4 : 12"))
        .encode(
            x=alt.X("from_at:T", scale=alt.Scale(type="utc"), title="UTC"),
            x2="to_at:T",
            y=alt.Y("kind:N", title=None),
            color=alt.Color("state:N", scale=_states),
        )
    )
    answer(
        f"What do the logs of {subject} cover, and what was not understood?",
        logs,
        _chart,
        "A kind of log that is not listed was not given: what only it could show is unknown, not absent.",
    )
    return covered, logs


if __name__ == "__main__":
    app.run()
