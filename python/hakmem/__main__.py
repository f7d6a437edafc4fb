"""python -m hakmem"""

from hakmem.cli import main

main()
