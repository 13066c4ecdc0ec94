#!/usr/bin/env bash
# Check that cargo and rustc are at least as new as Cargo.toml asks, before anything is downloaded. Exits with 1 and says what to
# type if not. What apt offers is read from apt-cache, so that no table of distributions can go out of date.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

new_enough() { # VERSION
  printf '%s\n' "$oldest" "$1" | sort -V -C
}

offered_by_apt() { # PACKAGE: its version without Debian's revision; nothing if apt does not offer it
  apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: \([0-9][0-9.]*\).*/\1/p'
}

remedies() {
  if command -v rustup >/dev/null; then
    echo "fix: rustup default stable && rustup update stable"
    return
  fi
  local kind rust
  for kind in '' -web; do
    rust=$(offered_by_apt "rustc$kind")
    if [ -n "$rust" ] && new_enough "$rust"; then
      if [ -z "$kind" ]; then echo "fix: apt install cargo rustc rustfmt rust-clippy (Rust $rust)"
      else echo "fix: apt install cargo-web rustc-web rustfmt-web rust-web-clippy (Rust $rust)"; fi
    fi
  done
  if [ -n "$(offered_by_apt rustup)" ]; then
    echo "fix: apt install rustup && rustup default stable"
  else
    echo "fix: install rustup as https://rustup.rs says, then: rustup default stable"
  fi
}

refuse() { # PROBLEM
  echo "error: $1: pcielab needs Rust $oldest or newer" >&2
  remedies >&2
  exit 1
}

for program in cargo rustc; do
  path=$(command -v "$program") || refuse "$program is not installed"
  answer=$("$program" --version 2>&1) || refuse "$path does not run: ${answer%%$'\n'*}"
  version=$(sed -n "s/^$program \([0-9][0-9.]*\).*/\1/p" <<<"$answer")
  [ -n "$version" ] || refuse "$path does not tell its version, but: ${answer%%$'\n'*}"
  new_enough "$version" || refuse "$path is too old: $program $version"
done
