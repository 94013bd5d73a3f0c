"""python -m adjoint.profiler view trace.json: a trace in the browser, or with --text as a table."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from pathlib import Path

from adjoint.tools.profiler import view


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m adjoint.profiler", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("view", help="show a trace that export_chrome_trace() wrote")
    look.add_argument("trace", type=Path, help="a file in the trace-event format, .json or .json.gz")
    look.add_argument("--text", action="store_true", help="print a table; no browser is needed")
    look.add_argument("--sort-by", default="self_cpu_time_total", help="the table's order (default: %(default)s)")
    look.add_argument("--limit", type=int, default=40, help="rows of the table (default: %(default)s)")
    look.add_argument("--html", type=Path, metavar="FILE", help="write the page to a file and serve nothing")
    look.add_argument("--port", type=int, default=0, help="where to serve the page (default: any free port)")
    look.add_argument("--no-open", action="store_true", help="open no browser, only say where the page is")
    options = parser.parse_args(arguments)
    try:
        trace = view.read_trace(options.trace)
        table = view.text(trace, options.sort_by, options.limit) if options.text else ""
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.text:
        print(table, end="")
    elif options.html is not None:
        options.html.write_text(view.page(trace, options.trace.name), encoding="utf-8")
        print(f"written to {options.html}")
    else:
        serve(trace, options.trace.name, options.port, not options.no_open)
    return 0


def serve(trace: view.Trace, title: str, port: int, opens: bool) -> None:
    """Serve the page until Ctrl-C."""
    with view.server(trace, title, port) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        print(f"{address}  (Ctrl-C ends)", flush=True)
        if opens:
            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    sys.exit(main())
