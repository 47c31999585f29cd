#!/bin/bash
# The `git` of programs in a sandbox. Commands that read run here; those that change a repository
# whose `.git` is read-only here are forwarded to the host, which checks and executes them.
real=@GIT@
queue=@QUEUE@
spool=@SPOOL@

options=()
while (($#)); do
  case $1 in
    -C | -c | --git-dir | --work-tree | --namespace | --config-env)
      options+=("$1" "${2-}")
      shift
      (($#)) && shift
      ;;
    -*)
      options+=("$1")
      shift
      ;;
    *) break ;;
  esac
done

run_here() { exec "$real" "${options[@]}" "$@"; }

is_closed() {
  local folder folders
  if [[ $1 == init ]]; then
    [[ -e .git && ! -w .git ]]
    return
  fi
  folders=$("$real" "${options[@]}" rev-parse --path-format=absolute --git-dir --git-common-dir 2>/dev/null) || return 1
  while IFS= read -r folder; do
    [[ -w $folder ]] || return 0
  done <<<"$folders"
  return 1
}

reads_input() {
  local word is_path=
  for word in "${@:2}"; do
    case $word in
      - | -F- | --file=- | --stdin | --pathspec-from-file=-) return 0 ;;
      -*) ;;
      *) is_path=1 ;;
    esac
  done
  [[ ($1 == am || $1 == apply) && ! $is_path ]]
}

case "$*" in # commands that list something, which the host need not check
  branch | "branch -a" | "branch -r" | "branch -v" | "branch -vv" | "branch --show-current" | \
    tag | remote | "remote -v" | "stash list" | "worktree list" | "config --get "* | \
    "config --list" | "config -l") run_here "$@" ;;
esac
case ${1-} in
  @FORWARDED@) ;;
  '' | status | log | diff | show | rev-parse | rev-list | ls-files | ls-tree | cat-file | blame | \
    grep | describe | clone | for-each-ref | show-ref | shortlog) run_here "$@" ;;
  *) # perhaps an alias; aliases with quotes, or of programs, are left to git
    alias=$("$real" "${options[@]}" config --get "alias.$1" 2>/dev/null)
    [[ $alias && $alias != *[\!\"\'\\]* ]] || run_here "$@"
    read -ra words <<<"$alias"
    set -- "${words[@]}" "${@:2}"
    ;;
esac
case $1 in
  @FORWARDED@) ;;
  *) run_here "$@" ;;
esac
[[ -p $queue ]] && is_closed "$@" || run_here "$@"

folder=$spool/$BASHPID-$RANDOM$RANDOM
mkdir -p -m 700 "$spool" && mkdir -m 700 "$folder" && mkfifo "$folder/alive" "$folder/answer" || exit 128
reads_input "$@" && cat >"$folder/input"
{
  printf '%s\0' "$PWD"
  for name in @VARIABLES@; do
    [[ -v $name ]] && printf '%s\0' "$name=${!name}"
  done
  printf '\0'
  printf '%s\0' "${options[@]}" "$@"
} >"$folder/request" || exit 128
printf '%s\n' "${folder##*/}" >"$queue"
exec 8>"$folder/alive" # the host continues while this is open
read -r code <"$folder/answer"
[[ -s $folder/out ]] && cat "$folder/out"
[[ -s $folder/err ]] && cat "$folder/err" >&2
rm -rf "$folder"
case $code in
  here)
    exec 8>&-
    run_here "$@"
    ;;
  [0-9]*) exit "$code" ;;
  *) exit 128 ;;
esac
