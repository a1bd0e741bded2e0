"""The commands around updates: `make-key` for who exports, `check-update` for who downloads."""

import argparse

from retvec_lite.cli.options import add_options
from retvec_lite.signing import PUBLIC_SUFFIX, make_key
from retvec_lite.updates import check_update


def declare_make_key(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, make_key, path={"metavar": "FILE"})


def run_make_key(args: argparse.Namespace) -> int:
    """Make both keys, and say what they are for."""
    public = make_key(**vars(args))
    print(f"{args.path}: the private key, for `export --sign`. Keep it secret, and keep a copy.")
    print(f"{args.path}{PUBLIC_SUFFIX}: the public key, for apps:\n{public}")
    return 0


def declare_check_update(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_options(parser, check_update)


def run_check_update(args: argparse.Namespace) -> int:
    """Check, and print what was checked."""
    print(check_update(**vars(args)))
    return 0
